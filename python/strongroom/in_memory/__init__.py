"""The reference adapter: everything in memory, nothing to install, gone at the end.

The simplest correct program: every function here says in Python what the SQL function of the same name
does. Read :mod:`~strongroom.in_memory.database` for how transactions work, then one module per aggregate.
"""

from strongroom.in_memory.adapter import memory_store as memory_store
from strongroom.in_memory.database import Database as Database

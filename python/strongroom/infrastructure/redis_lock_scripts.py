"""The scripts of the locks in Redis. Each runs whole, alone, and by the server's clock.

A lock is one JSON text in a hash of its tenant's; ``ends`` orders the names by when they are free. Whole
numbers are written as text: Lua's JSON would round them. The counter of tokens is a key of its own, which
nothing deletes; should it be lost nevertheless, the clock keeps tokens growing.
"""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function whole(number) return string.format('%.0f', number) end
local function read(key, name)
    local text = redis.call('HGET', key, name)
    return text and cjson.decode(text) or nil, text
end
local function write(locks, ends, name, lock, free_at)
    lock.expires = whole(free_at)
    local text = cjson.encode(lock)
    redis.call('HSET', locks, name, text)
    redis.call('ZADD', ends, whole(free_at), name)
    return text
end
"""

# locks, ends, tokens, pins, tenants; name, owner, acquisition, microseconds, tenant
ACQUIRE = (
    _NOW
    + """
local lock, text = read(KEYS[1], ARGV[1])
if lock then
    if lock.owner and tonumber(lock.expires) > now then
        -- The same call again, whose answer was lost.
        if lock.acquisition == ARGV[3] and lock.owner == ARGV[2] then return text end
        return false
    end
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', whole(now))
if redis.call('ZCARD', KEYS[4]) > 0 then return false end
local token = redis.call('INCR', KEYS[3])
if token < now then
    token = now
    redis.call('SET', KEYS[3], whole(token))
end
if not lock then redis.call('SADD', KEYS[5], ARGV[5]) end
lock = {token = whole(token), owner = ARGV[2], acquisition = ARGV[3], acquired = whole(now)}
return write(KEYS[1], KEYS[2], ARGV[1], lock, now + ARGV[4])
"""
)

# locks, ends; name, owner, token, microseconds
RENEW = (
    _NOW
    + """
local lock = read(KEYS[1], ARGV[1])
if not lock then return {'lost', false} end
if lock.owner ~= ARGV[2] or lock.token ~= ARGV[3] then return {'lost', lock.token} end
return {'held', write(KEYS[1], KEYS[2], ARGV[1], lock, now + ARGV[4])}
"""
)

# locks, ends; name, owner, token, call
RELEASE = (
    _NOW
    + """
local lock = read(KEYS[1], ARGV[1])
if not lock then return 0 end
if lock.released == ARGV[4] then return 1 end
if lock.owner ~= ARGV[2] or lock.token ~= ARGV[3] then return 0 end
write(KEYS[1], KEYS[2], ARGV[1], {token = lock.token, released = ARGV[4]}, 0)
return 1
"""
)

# locks, pins; name, token, unit of work or '', microseconds of the pin
CHECK = (
    _NOW
    + """
local lock, text = read(KEYS[1], ARGV[1])
if not lock then return {'lost', false} end
if lock.token ~= ARGV[2] or not lock.owner or tonumber(lock.expires) <= now then
    return {'lost', lock.token}
end
if ARGV[3] ~= '' then
    redis.call('ZADD', KEYS[2], whole(now + ARGV[4]), ARGV[3])
    redis.call('PEXPIRE', KEYS[2], whole(ARGV[4] / 1000 + 1000))
end
return {'held', text}
"""
)

# pins; unit of work, microseconds. Whether it still holds; then it holds so long again.
PIN_AGAIN = (
    _NOW
    + """
local until_then = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not until_then or tonumber(until_then) <= now then return 0 end
redis.call('ZADD', KEYS[1], whole(now + ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], whole(ARGV[2] / 1000 + 1000))
return 1
"""
)

UNPIN = "return redis.call('ZREM', KEYS[1], ARGV[1])"

# locks; name
FIND = (
    _NOW
    + """
local lock, text = read(KEYS[1], ARGV[1])
if lock and lock.owner and tonumber(lock.expires) > now then return text end
return false
"""
)

# locks, ends; limit
PRUNE = (
    _NOW
    + """
local free = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now), 'LIMIT', 0, ARGV[1])
for _, name in ipairs(free) do
    redis.call('HDEL', KEYS[1], name)
    redis.call('ZREM', KEYS[2], name)
end
return #free
"""
)

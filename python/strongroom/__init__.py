"""Everything an AI agent platform must remember, kept in your own PostgreSQL or Supabase."""

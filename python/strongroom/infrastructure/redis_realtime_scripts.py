"""The scripts of the change feed in Redis. Each runs whole and alone.

A topic is a hash (how far it goes), a stream whose entries are numbered by their sequences, and a hash of
the ids in the stream. A unit of work that publishes has the topic's turn until it has ended.
"""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function whole(number) return string.format('%.0f', number) end
"""

_DROP = """
local function drop(topic, stream, ids, from, to)
    for _, entry in ipairs(redis.call('XRANGE', stream, whole(from) .. '-0', whole(to) .. '-0')) do
        redis.call('HDEL', ids, entry[2][2])
    end
    redis.call('XTRIM', stream, 'MINID', '=', whole(to + 1) .. '-0')
    redis.call('HSET', topic, 'trimmed', whole(to))
end
"""

# topic, stream, ids, turn, topics of the tenant, tenants; unit or '', milliseconds of the turn ('' publishes
# and gives the turn back), most events kept, channel, what is told there, tenant, then id, kind, payload and
# digest of each event
PUBLISH = (
    _NOW
    + _DROP
    + """
local turn = redis.call('GET', KEYS[4])
if turn and turn ~= ARGV[1] then return {'busy'} end
local publishes = ARGV[2] == ''
local place = redis.call('HMGET', KEYS[1], 'last', 'trimmed')
local last, trimmed = tonumber(place[1] or '0'), tonumber(place[2] or '0')
local fresh, items = {}, {}
local before = last
for at = 7, #ARGV, 4 do
    local id, digest = ARGV[at], ARGV[at + 3]
    local known = fresh[id] or redis.call('HGET', KEYS[3], id)
    if not known then
        last = last + 1
        fresh[id] = whole(last) .. ':' .. digest
        if publishes then
            redis.call('XADD', KEYS[2], whole(last) .. '-0', 'id', id, 'kind', ARGV[at + 1],
                'payload', ARGV[at + 2], 'created', whole(now))
            redis.call('HSET', KEYS[3], id, fresh[id])
        end
        table.insert(items, 'inserted')
        table.insert(items, whole(last))
    else
        local sequence, other = string.match(known, '^(%d+):(.*)$')
        table.insert(items, other == digest and 'duplicate' or 'conflict')
        table.insert(items, other == digest and sequence or '')
    end
end
if not publishes then
    redis.call('SET', KEYS[4], ARGV[1], 'PX', ARGV[2])
    return items
end
if ARGV[1] ~= '' and turn then redis.call('DEL', KEYS[4]) end
if last > before then
    if before == 0 and not place[1] then
        redis.call('HSET', KEYS[1], 'created', whole(now), 'trimmed', '0')
        redis.call('SADD', KEYS[5], ARGV[5])
        redis.call('SADD', KEYS[6], ARGV[6])
    end
    redis.call('HSET', KEYS[1], 'last', whole(last))
    local most = tonumber(ARGV[3])
    if last - trimmed > most then
        drop(KEYS[1], KEYS[2], KEYS[3], trimmed + 1, last - most)
    end
    redis.call('PUBLISH', ARGV[4], ARGV[5])
end
return items
"""
)

# turn; unit, milliseconds. Whether it is still the unit's; then it is so long again.
TURN_AGAIN = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""

# turn; unit
END_TURN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""

# topic, stream; after, limit
LIST = """
local place = redis.call('HMGET', KEYS[1], 'last', 'trimmed')
local after = tonumber(ARGV[1])
if tonumber(place[2] or '0') > after then return {'trimmed', place[2]} end
local from = string.format('(%.0f-0', after)
return {'events', redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', ARGV[2])}
"""

# topic, stream, ids; up to, limit
TRIM = (
    _NOW
    + _DROP
    + """
local place = redis.call('HMGET', KEYS[1], 'last', 'trimmed')
if not place[1] then return 0 end
local last, trimmed = tonumber(place[1]), tonumber(place[2])
local to = math.min(tonumber(ARGV[1]), last, trimmed + tonumber(ARGV[2]))
if to <= trimmed then return 0 end
drop(KEYS[1], KEYS[2], KEYS[3], trimmed + 1, to)
return to - trimmed
"""
)

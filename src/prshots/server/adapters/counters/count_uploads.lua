-- Uses the server's clock, because the clocks of the API machines may differ. A list holds the times of a
-- project's counted uploads, oldest first. A time in the future means that the clock was set back since. The
-- script drops such a time. Otherwise it would count until the clock catches up.
--
-- For each project, the script returns how many uploads were just counted, how many are left, and the
-- microseconds until one more is left. After a limit is lowered, there may be more uploads than it allows: the
-- oldest have to leave the window first.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
    local asked, limit = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
    local oldest = tonumber(redis.call('LINDEX', key, 0))
    while oldest and (oldest <= now - window or oldest > now) do
        redis.call('LPOP', key)
        oldest = tonumber(redis.call('LINDEX', key, 0))
    end
    local used = redis.call('LLEN', key)
    local passed = math.max(0, math.min(asked, limit - used))
    for _ = 1, passed do
        redis.call('RPUSH', key, string.format('%.0f', now))
    end
    if passed > 0 then
        redis.call('PEXPIRE', key, math.ceil(window / 1000))
    end
    used = used + passed
    local next_to_leave = tonumber(redis.call('LINDEX', key, math.max(0, used - limit)))
    answers[i] = {passed, math.max(0, limit - used), next_to_leave + window - now}
end
return answers

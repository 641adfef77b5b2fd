-- wrk's requests: METHOD to each path of a file in turn, with an optional body and headers.
--   wrk -s wrk_requests.lua URL -- METHOD PATHS_FILE BODY_FILE|- [NAME VALUE]...
-- All servers of a comparison get their requests from this script, so the client's cost is the same for each.

local paths, prepared, body = {}, {}, nil
local turn = 0

local function read(name)
  local file = assert(io.open(name, "rb"))
  local content = file:read("*a")
  file:close()
  return content
end

function init(args)
  wrk.method = args[1]
  for path in io.lines(args[2]) do paths[#paths + 1] = path end
  if args[3] ~= "-" then body = read(args[3]) end
  for i = 4, #args, 2 do wrk.headers[args[i]] = args[i + 1] end
  if not body then
    for i, path in ipairs(paths) do prepared[i] = wrk.format(nil, path) end
  end
end

function request()
  turn = turn % #paths + 1
  -- Requests with a body are built one at a time: a thousand bodies wouldn't fit into Lua's memory.
  return prepared[turn] or wrk.format(nil, paths[turn], nil, body)
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '{"requests": %d, "microseconds": %d, "bytes": %d, "p50_ms": %.4f, "bad_status": %d, "broken": %d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50) / 1000, failed.status,
    failed.connect + failed.read + failed.write + failed.timeout))
end

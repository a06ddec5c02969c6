-- give.lua: the end of next and identity: writes the counter and replies, as next.lua says.
--
-- Takes low and high of what is given; issue, how many numbers that are, nil where nothing is to be
-- written; more, fields that only this kind of counter has; last, the last item of the reply.

if issue then
  issued = lesser(plus(issued, issue), LARGEST)
  if another_minute then
    redis.call('HSET', key, 'Minute', minute, 'IssuedBefore', lesser(issued_before, LARGEST))
  end
  if origin == '' and not redis.call('HMGET', key, 'Name')[1] then redis.call('HSET', key, 'Name', ARGV[8]) end
  if replication ~= origin then redis.call('HSET', key, 'Origin', replication) end
  if evidence ~= '' then redis.call('HSET', key, 'Epoch', epoch) end
  redis.call('HSET', key, field, high, 'Issued', issued, 'Written', written, unpack(more))
end
local lately = issued_before == '0' and issued or lesser(plus(issued, issued_before), LARGEST)
return {token, low, high, epoch, prefix, tag, jump, evidence, lately,
  format('%d', seconds), replication, ranges, written, last} -- seconds are far below 2^31

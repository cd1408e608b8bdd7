compare() {
  census > /tmp/found
  # What was the same before and after the dump was the same in between, and must be there again.
  both "$backup/before" "$backup/after" > /tmp/steady
  both /tmp/steady /tmp/found > /tmp/again
  same /tmp/steady /tmp/again
  # When nothing was written meanwhile, there must be nothing else either.
  if [ "$(cat "$backup/before")" = "$(cat "$backup/after")" ]; then same "$backup/before" /tmp/found; fi
}

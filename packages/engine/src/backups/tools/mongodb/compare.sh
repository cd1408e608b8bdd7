compare() {
  census > /tmp/found
  # What was the same before and after the dump was the same in between, and must be there again.
  comm -12 "$backup/before" "$backup/after" > /tmp/steady
  comm -12 /tmp/steady /tmp/found > /tmp/again
  same /tmp/steady /tmp/again
  if cmp -s "$backup/before" "$backup/after"; then same "$backup/before" /tmp/found; fi
}

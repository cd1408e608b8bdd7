compare() {
  census > /tmp/found
  # Lines that stayed the same while the dump was made must be there again; others tell of a moment that nobody knows.
  both "$backup/before" "$backup/after" > /tmp/steady
  both /tmp/steady /tmp/found > /tmp/again
  same /tmp/steady /tmp/again
  # When nothing was written meanwhile, there must be nothing else either.
  if [ "$(cat "$backup/before")" = "$(cat "$backup/after")" ]; then same "$backup/before" /tmp/found; fi
}

compare() {
  census > /tmp/found
  for file in "$backup/before" "$backup/after" /tmp/found; do sort "$file" > "$file.sorted"; done
  # Lines that stayed the same while the dump was made must be there again; others are told, as they prove nothing.
  comm -12 "$backup/before.sorted" "$backup/after.sorted" > /tmp/steady
  comm -12 /tmp/steady /tmp/found.sorted > /tmp/again
  same /tmp/steady /tmp/again
  # A table that was written to meanwhile has other rows, but must be there.
  if cmp -s "$backup/before" "$backup/after"; then same "$backup/before.sorted" /tmp/found.sorted; fi
}

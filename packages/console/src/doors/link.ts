/** Returns the token behind `#` of the address. Browsers do not send this part to servers. */
export function linkToken(): string {
  return decodeURIComponent(location.hash.slice(1));
}

/** Leaves a door: the console begins at its first page. */
export function enterConsole(): void {
  location.replace('/console/');
}

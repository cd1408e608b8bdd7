/** Returns the token behind `#` of the address. Browsers do not send this part to servers. */
export function linkToken(): string {
  return location.hash.slice(1);
}

/** Leaves the page of a link for the first page of the console. */
export function enterConsole(): void {
  location.replace('/console/');
}

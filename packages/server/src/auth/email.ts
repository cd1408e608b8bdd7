/**
 * Returns an e-mail address in the form used for comparison. Only A to Z are folded to lower case: the lower case of
 * some other letters belongs to another address (the Kelvin sign becomes k), and the owner of one address must not be
 * mistaken for the owner of the other.
 */
export function comparableEmail(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

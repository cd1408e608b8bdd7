/**
 * An e-mail address as it is compared. Only A to Z are folded: other letters have lower cases that are letters of another
 * address (the Kelvin sign becomes k), and who has the one must not pass for who has the other.
 */
export function comparableEmail(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

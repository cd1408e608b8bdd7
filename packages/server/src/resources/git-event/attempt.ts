/** What may pass: the git host does not answer at the moment. */
export class TryAgain extends Error {}

/** A temporary failure: the git host is unreachable at the moment. */
export class TryAgain extends Error {}

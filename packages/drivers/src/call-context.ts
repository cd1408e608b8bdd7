/** Context of a long-running call. */
export interface CallContext {
  /**
   * Aborted on cancel, loss of the lease, or deadline. The call then returns soon and leaves its objects on the cluster
   * to `retire` and `remove`.
   */
  readonly signal: AbortSignal;
  /**
   * Aborted together with `signal` if another process resumes the work. Work that runs by itself is then left running.
   */
  readonly leave?: AbortSignal;
  /** Aborted if the user cancels with force. The call then waits for nothing any more. */
  readonly force?: AbortSignal;
  /** Writes a line to the deployment log. The implementation redacts the line; still, never pass a secret to it. */
  log(line: string): void;
}

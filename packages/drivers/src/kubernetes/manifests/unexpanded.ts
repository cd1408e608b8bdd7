/**
 * An argument of a container or of its probe. Kubernetes puts values of variables where `$(NAME)` is, and `$` where `$$` is; what users write is
 * to arrive as it is. Pure.
 */
export function unexpanded(argument: string): string {
  return argument.replaceAll('$', '$$$$');
}

/**
 * Escapes an argument of a container or of its probe, so that it arrives as users wrote it. Kubernetes replaces
 * `$(NAME)` with the value of a variable and `$$` with `$`. Pure.
 */
export function unexpanded(argument: string): string {
  return argument.replaceAll('$', '$$$$');
}

/** A container of a pod that a chart made: it has no number in a rollout, and its pod's name is its own. */
export function chartInstanceId(namespace: string, pod: string, container: string): string {
  return `${namespace}/pod/${pod}/${container}`;
}

/** null: the id is that of an instance that Davit made. */
export function parseChartInstanceId(
  id: string,
): { readonly namespace: string; readonly pod: string; readonly container: string } | null {
  const [namespace = '', marker, pod, container] = id.split('/');
  return marker === 'pod' && pod !== undefined && container !== undefined ? { namespace, pod, container } : null;
}

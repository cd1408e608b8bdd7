/**
 * Returns the id of a container of a chart's pod. Such a container has no index in a rollout, and its pod has a name of
 * its own.
 */
export function chartInstanceId(namespace: string, pod: string, container: string): string {
  return `${namespace}/pod/${pod}/${container}`;
}

/** Parses the id of a container of a chart's pod. Returns null for the id of an instance that Davit created. */
export function parseChartInstanceId(
  id: string,
): { readonly namespace: string; readonly pod: string; readonly container: string } | null {
  const [namespace = '', marker, pod, container] = id.split('/');
  return marker === 'pod' && pod !== undefined && container !== undefined ? { namespace, pod, container } : null;
}

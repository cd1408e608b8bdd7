import type { Settings } from '../../configuration.ts';

/**
 * Returns the URL of a page of the console. The token is in the fragment, which browsers send to no server, so that it
 * is in no log.
 */
export function pageLink(
  { publicUrl, host, port }: Settings<'publicUrl' | 'host' | 'port'>,
  page: string,
  token: string,
): string {
  return `${publicUrl ?? `http://${host}:${port}`}/console/${page}#${token}`;
}

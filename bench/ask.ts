import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** Returns status and text of a GET with this host name, sent to the gateway on a new connection. */
export async function ask(url: URL): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, host, port, pathname } = url;
  // Names under `.localhost` mean this machine, but not every resolver knows them.
  const address = hostname.endsWith('.localhost') ? '127.0.0.1' : hostname;
  const sent = request({ host: address, port, path: pathname, agent: false, headers: { host } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what Node.js documents
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return { status: response.statusCode ?? 0, text };
}

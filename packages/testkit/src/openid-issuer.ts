import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type ClientMetadata } from 'oidc-provider';

/** An OpenID Connect issuer with a sign-in page, at which everybody signs in by name. It requires PKCE. */
export class OpenIdIssuer {
  /** Issuer identifier, and the URL at which it responds. */
  readonly url: string;
  static readonly clientId = 'davit-console';
  readonly #server: Server;
  #provider: Provider | null = null;

  private constructor(server: Server) {
    this.#server = server;
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the issuer listens on no port');
    this.url = `http://localhost:${address.port}`;
  }

  /** Listens on a free port. It answers once `serve` names its client. */
  static async start(): Promise<OpenIdIssuer> {
    const holder: { issuer?: OpenIdIssuer } = {};
    const server = createServer((request, response) => {
      const { issuer } = holder;
      if (issuer === undefined) return;
      issuer.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const issuer = new OpenIdIssuer(server);
    holder.issuer = issuer;
    return issuer;
  }

  /** Serves a client that returns to `redirectUri`, with a secret or as a public one. */
  async serve(redirectUri: string, secret: string | null = null): Promise<void> {
    const authentication: ClientMetadata =
      secret === null
        ? { client_id: OpenIdIssuer.clientId, token_endpoint_auth_method: 'none' }
        : { client_id: OpenIdIssuer.clientId, client_secret: secret };
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.#provider = new Provider(this.url, {
      clients: [{ ...authentication, redirect_uris: [redirectUri], grant_types: ['authorization_code'] }],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'key', use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['a key of this test'] },
      claims: { email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      interactions: { url: (_context, { uid }) => `/enter/${uid}` },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => ({ sub, email: `${sub}@example.org`, email_verified: true, name: sub }),
      }),
      // Nobody is asked for consent.
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600 },
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = this.#provider;
    if (provider === null) return void response.writeHead(503).end();
    if (request.url?.startsWith('/enter/') !== true) return void provider.callback()(request, response);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<form method="post"><label>Name <input name="name"></label><button>Enter</button></form>');
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const name = new URLSearchParams(Buffer.concat(chunks).toString()).get('name') ?? '';
    const result = name === '' ? { error: 'access_denied' } : { login: { accountId: name } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  /** Signs a person in as a browser would, at the address of a sign-in. Returns the address to which it is led back. */
  async enter(url: string, name: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let [next, form]: [string, string | null] = [url, null];
    while (next.startsWith(this.url)) {
      const response: Response = await fetch(next, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; ') },
        ...(form !== null && { method: 'POST', body: new URLSearchParams({ name: form }) }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [key = '', value = ''] = cookie.split(';')[0]?.split('=') ?? [];
        cookies.set(key, value);
      }
      const location = response.headers.get('location');
      if (location === null && form !== null) throw new Error(`the issuer answers ${response.status}: ${await response.text()}`);
      form = location === null ? name : null;
      if (location !== null) next = new URL(location, next).href;
    }
    return new URL(next);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

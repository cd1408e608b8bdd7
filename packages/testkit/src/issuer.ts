import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';

/** An OpenID Connect issuer on this machine, with real keys, limited to the parts that a resource server uses. */
export class TestIssuer {
  /** Issuer identifier, and the URL at which it responds. */
  readonly url: string;
  /** Number of requests for its keys. */
  fetches = 0;
  /** Response in place of its documents: an HTTP status, or `silence` for no response at all. */
  trouble: number | 'silence' | null = null;
  /** Issuer identifier in its discovery document, if it differs from `url`. */
  alias: string | null = null;
  readonly #server: Server;
  #keys: { readonly kid: string | null; readonly alg: string; readonly privateKey: CryptoKey; readonly jwk: JWK }[] = [];

  private constructor(server: Server) {
    this.#server = server;
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the issuer listens on no port');
    this.url = `http://127.0.0.1:${address.port}`;
  }

  static async start(): Promise<TestIssuer> {
    const holder: { issuer?: TestIssuer } = {};
    const server = createServer((request, response) => {
      const { issuer } = holder;
      if (issuer === undefined || issuer.trouble === 'silence') return;
      if (request.url === '/keys') issuer.fetches += 1;
      const found = issuer.trouble === null ? issuer.#documents()[request.url ?? ''] : undefined;
      response.writeHead(found === undefined ? (issuer.trouble ?? 404) : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = new TestIssuer(server);
    holder.issuer = issuer;
    await issuer.rotate();
    return issuer;
  }

  #documents(): Record<string, unknown> {
    return {
      '/.well-known/openid-configuration': { issuer: this.alias ?? this.url, jwks_uri: `${this.url}/keys` },
      '/keys': { keys: this.#keys.map(({ jwk }) => jwk) },
    };
  }

  /** Creates a new signing key and publishes only this key. Without `kid`, neither the key nor its tokens have one. */
  async rotate(options: { readonly alg?: string; readonly kid?: string | null; readonly keep?: boolean } = {}): Promise<void> {
    const { alg = 'ES256', kid = `key-${randomUUID()}` } = options;
    const { privateKey, publicKey } = await generateKeyPair(alg);
    const named = kid === null ? {} : { kid };
    const key = { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), ...named, alg, use: 'sig' } };
    this.#keys = options.keep === true ? [key, ...this.#keys] : [key];
  }

  /** Returns the public key for the current signing key. */
  get publicKey(): JWK {
    return this.#keys[0]?.jwk ?? {};
  }

  /**
   * Returns a token for the audience `davit` that is valid for ten minutes. `claims` overrides each claim; undefined
   * omits it.
   */
  async sign(claims: JWTPayload & { readonly sub: string }): Promise<string> {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('the issuer has no key');
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ iss: this.url, aud: 'davit', iat: now, exp: now + 600, ...claims })
      .setProtectedHeader({ alg: key.alg, ...(key.kid === null ? {} : { kid: key.kid }) })
      .sign(key.privateKey);
  }

  /** Returns a token of a person with a verified e-mail address. */
  person(name: string): Promise<string> {
    return this.sign({ sub: name, name, email: `${name}@example.org`, email_verified: true });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

import { AppError, type Clock } from '@davit/base';
import { decodeJwt, errors, jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose';
import { KeySet } from './key-set.ts';

/** Accepted signature algorithms: none with a shared secret, and never `none`. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];

/** Seconds by which clocks may differ. */
const toleranceSeconds = 30;

export interface IssuersOptions {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly clock: Clock;
  /** Milliseconds until a request for the issuer's keys times out. Default: 5,000. */
  readonly answerMilliseconds?: number;
}

/** The accepted OpenID Connect issuers, and the accepted audiences. */
export class Issuers {
  readonly #keySets: ReadonlyMap<string, KeySet>;
  readonly #audiences: readonly string[];
  readonly #clock: Clock;

  constructor(options: IssuersOptions) {
    const { clock, answerMilliseconds = 5_000 } = options;
    this.#keySets = new Map(options.issuers.map((issuer) => [issuer, new KeySet(issuer, clock, answerMilliseconds)]));
    this.#audiences = options.audiences;
    this.#clock = options.clock;
  }

  /** Returns the claims of a valid token. Throws UNAUTHORIZED, TOKEN_EXPIRED or ISSUER_UNAVAILABLE with the reason. */
  async verify(token: string): Promise<IssuedClaims> {
    // The claim is not verified yet; it only selects the keys.
    const issuer = issuerOf(token);
    if (this.#keySets.size === 0)
      throw badToken('this server accepts no JWTs, as DAVIT_OIDC_ISSUER is not set; use an API token');
    const keySet = issuer === undefined ? undefined : this.#keySets.get(issuer);
    if (issuer === undefined || keySet === undefined) throw badToken('its issuer (iss) is not one that this server accepts');
    const options: JWTVerifyOptions = {
      algorithms,
      issuer,
      audience: [...this.#audiences],
      clockTolerance: toleranceSeconds,
      currentDate: this.#clock.now(),
      requiredClaims: ['sub', 'exp'],
    };
    const claims = await translated(() => verifyWith(token, keySet, options));
    const { sub, exp, iat } = claims;
    // jose checks the time of issue only if a maximum token age is configured.
    if (iat !== undefined && iat * 1000 > this.#clock.now().getTime() + toleranceSeconds * 1000)
      throw badToken(claimFaults['iat'] ?? '');
    if (typeof sub !== 'string' || sub === '' || exp === undefined) throw badToken('it has no subject (sub)');
    return { issuer, subject: sub, expiresAt: (exp + toleranceSeconds) * 1000, claims };
  }
}

export interface IssuedClaims {
  readonly issuer: string;
  readonly subject: string;
  /** Milliseconds since 1970, including the tolerance. */
  readonly expiresAt: number;
  readonly claims: JWTPayload;
}

async function verifyWith(token: string, keySet: KeySet, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keySet.find, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // A token need not name its key: each candidate is tried.
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (inner) {
        if (!(inner instanceof errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Returns the issuer that a JWT claims; undefined if the text is not a JWT or has no issuer. Nothing is verified. */
export function issuerOf(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

const claimFaults: Readonly<Record<string, string>> = {
  aud: 'it is meant for another audience (aud)',
  nbf: 'it is not valid yet (nbf)',
  iat: 'it was issued in the future (iat)',
  exp: 'it has no time at which it expires (exp)',
  sub: 'it has no subject (sub)',
};

/** Translates jose's errors into errors of the API. */
export async function translated<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      throw new AppError({ code: 'TOKEN_EXPIRED', message: 'The JWT has expired. Sign in again.', cause: error });
    }
    if (error instanceof errors.JWTClaimValidationFailed) {
      throw badToken(claimFaults[error.claim] ?? `its claim ${error.claim} is wrong`, error);
    }
    if (error instanceof errors.JWKSNoMatchingKey) throw badToken('it is signed with a key that its issuer does not have', error);
    if (error instanceof errors.JWSSignatureVerificationFailed) throw badToken('its signature is wrong', error);
    if (error instanceof errors.JOSEAlgNotAllowed) throw badToken(`its algorithm is not one of ${algorithms.join(', ')}`, error);
    if (error instanceof errors.JOSEError) throw badToken('it is malformed', error);
    throw error;
  }
}

export function badToken(why: string, cause?: unknown): AppError {
  return new AppError({ code: 'UNAUTHORIZED', message: `The JWT is not accepted: ${why}.`, cause });
}

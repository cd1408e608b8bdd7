import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

/** Deviations of an attacker, or of a browser in another place. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  /** Left out: the person proves their presence by PIN, finger or face. */
  readonly isVerified?: boolean;
}

interface Created {
  readonly id: string;
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string };
}

interface Signed {
  readonly id: string;
  readonly response: Readonly<Record<'clientDataJSON' | 'authenticatorData' | 'signature' | 'userHandle', string>>;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const sha256 = (value: string | Uint8Array): Buffer => createHash('sha256').update(value).digest();

/** A passkey in software, with its browser: it signs what WebAuthn says, or what an attacker would like. */
export class TestPasskey {
  readonly id = text(randomBytes(32));
  /** How often it was used, as it counts. A copy has the count of its original. */
  counter = 0;
  userHandle = '';
  readonly #origin: string;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Returns what `navigator.credentials.create` would for these options. */
  create(options: Readonly<Record<string, unknown>>, deviations: Deviations = {}): Created {
    const { challenge, user }: { challenge: string; user: { id: string } } = JSON.parse(JSON.stringify(options));
    this.userHandle = user.id;
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const key = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
        [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
      ]),
    );
    const id = Buffer.from(this.id, 'base64url');
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, Buffer.from(key)]);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(Buffer.concat([this.#head(0x40, deviations), attested]))],
    ]);
    const clientDataJSON = this.#clientData('webauthn.create', challenge, deviations);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the encoder has no nested maps
    const attestationObject = text(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]));
    return { id: this.id, response: { clientDataJSON: text(clientDataJSON), attestationObject } };
  }

  /** Returns what `navigator.credentials.get` would for these options. */
  get(options: Readonly<Record<string, unknown>>, deviations: Deviations = {}): Signed {
    this.counter += 1;
    const clientData = this.#clientData('webauthn.get', String(options['challenge']), deviations);
    const head = this.#head(0, deviations);
    const signature = sign('sha256', Buffer.concat([head, sha256(clientData)]), this.#keys.privateKey);
    return {
      id: this.id,
      response: {
        clientDataJSON: text(clientData),
        authenticatorData: text(head),
        signature: text(signature),
        userHandle: this.userHandle,
      },
    };
  }

  #clientData(type: string, challenge: string, deviations: Deviations): Buffer {
    const origin = deviations.origin ?? this.#origin;
    return Buffer.from(JSON.stringify({ type, challenge: deviations.challenge ?? challenge, origin, crossOrigin: false }));
  }

  #head(flags: number, { rpId = new URL(this.#origin).hostname, isVerified = true }: Deviations): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(rpId), Buffer.of(flags | 0x01 | (isVerified ? 0x04 : 0)), counter]);
  }
}

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '@davit/base';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const keyIdBytes = 4;
const format = 1;
const headBytes = 1 + keyIdBytes + nonceBytes + tagBytes;

/**
 * Encrypts what is stored secretly: AES-256-GCM, as `1 | key id (4) | nonce (12) | tag (16) | ciphertext`. The id of the record
 * is authenticated with it, so that a sealed value copied to another record does not open there.
 */
export interface Vault {
  /** With the first key. Each call gives other bytes. */
  seal(recordId: string, value: string): Buffer;
  /** With whichever key sealed it. SECRET_UNREADABLE: the key is gone, or the bytes belong elsewhere or were changed. */
  open(recordId: string, sealed: Uint8Array): string;
}

/** `keys`: 32 bytes each, the newest first: it seals, all open. */
export function createVault(keys: readonly Buffer[]): Vault {
  const byId = new Map(keys.map((key) => [keyId(key).toString('hex'), key]));
  const [newest] = keys;
  if (newest === undefined || keys.some((key) => key.length !== keyBytes)) {
    throw new Error(`a vault needs at least one key, each of ${keyBytes} bytes`);
  }
  const newestId = keyId(newest);
  return {
    seal: (recordId, value) => {
      const nonce = randomBytes(nonceBytes);
      const head = Buffer.concat([Buffer.of(format), newestId]);
      const cipher = createCipheriv('aes-256-gcm', newest, nonce).setAAD(associated(head, recordId));
      const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
      return Buffer.concat([head, nonce, cipher.getAuthTag(), text]);
    },
    open: (recordId, bytes) => {
      const sealed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (sealed.length < headBytes || sealed[0] !== format) throw unreadable('it was not written by this version of Davit');
      const head = sealed.subarray(0, 1 + keyIdBytes);
      const key = byId.get(head.subarray(1).toString('hex'));
      if (key === undefined) throw unreadable('the key that sealed it is not among the keys');
      const nonce = sealed.subarray(1 + keyIdBytes, 1 + keyIdBytes + nonceBytes);
      const tag = sealed.subarray(headBytes - tagBytes, headBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(associated(head, recordId)).setAuthTag(tag);
      try {
        return decipher.update(sealed.subarray(headBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw unreadable('it was changed or belongs to another record', error);
      }
    },
  };
}

/** Names a key without telling it. */
function keyId(key: Buffer): Buffer {
  return createHash('sha256').update('davit key id').update(key).digest().subarray(0, keyIdBytes);
}

function associated(head: Buffer, recordId: string): Buffer {
  return Buffer.concat([head, Buffer.from(recordId, 'utf8')]);
}

function unreadable(why: string, cause?: unknown): AppError {
  return new AppError({ code: 'SECRET_UNREADABLE', message: `A stored secret cannot be decrypted: ${why}.`, cause });
}

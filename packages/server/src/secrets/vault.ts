import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '@davit/base';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const keyIdBytes = 4;
const format = 1;
const headBytes = 1 + keyIdBytes + nonceBytes + tagBytes;

/**
 * Encrypts stored secrets: AES-256-GCM, as `1 | key id (4) | nonce (12) | tag (16) | ciphertext`. The id of the record
 * is authenticated too, so a sealed value that is copied to another record cannot be opened there.
 */
export interface Vault {
  /** Encrypts with the first key. Each call returns different bytes. */
  seal(recordId: string, value: string): Buffer;
  /**
   * Decrypts with the key that sealed the value. SECRET_UNREADABLE: the key is missing, or the bytes belong to another
   * record or were changed.
   */
  open(recordId: string, sealed: Uint8Array): string;
}

/** Creates a vault. `keys`: 32 bytes each, the newest first. The newest encrypts, all of them decrypt. */
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

/** Returns an id of a key that does not disclose the key. */
function keyId(key: Buffer): Buffer {
  return createHash('sha256').update('davit key id').update(key).digest().subarray(0, keyIdBytes);
}

function associated(head: Buffer, recordId: string): Buffer {
  return Buffer.concat([head, Buffer.from(recordId, 'utf8')]);
}

function unreadable(why: string, cause?: unknown): AppError {
  return new AppError({ code: 'SECRET_UNREADABLE', message: `A stored secret cannot be decrypted: ${why}.`, cause });
}

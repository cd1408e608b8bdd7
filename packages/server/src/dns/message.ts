import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TsigKey } from '../configuration.ts';

/*
 * Messages of DNS (RFC 1035) with dynamic updates (RFC 2136) and signatures (TSIG, RFC 8945): no more than a TXT record
 * needs. Node.js resolves names but cannot update them.
 */

const types = { SOA: 6, TXT: 16, TSIG: 250 } as const;
const classes = { IN: 1, NONE: 254, ANY: 255 } as const;
const updateFlags = 0x2800;
const fudgeSeconds = 300;
const headerBytes = 12;

const responseCodes = [
  '',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
  'YXDOMAIN',
  'YXRRSET',
  'NXRRSET',
  'NOTAUTH',
  'NOTZONE',
];
const signatureErrors: Readonly<Record<number, string>> = { 16: 'BADSIG', 17: 'BADKEY', 18: 'BADTIME', 22: 'BADTRUNC' };

/** A message, and its MAC if it is signed. */
export interface Signed {
  readonly message: Buffer;
  readonly mac: Buffer | null;
}

export interface TxtRecord {
  readonly name: string;
  /** At most 255 ASCII characters. */
  readonly text: string;
}

/** Returns a question for the SOA record of a name, whose answer names the zone of the name. */
export function zoneQuestion(id: number, name: string): Buffer {
  return Buffer.concat([header(id, 0, [1, 0, 0, 0]), wireName(name), numbers(types.SOA, classes.IN)]);
}

/** Returns an update of a zone that adds or removes one TXT record and leaves all others. */
export function txtUpdate(id: number, zone: string, action: 'add' | 'remove', { name, text }: TxtRecord): Buffer {
  const data = Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
  const [recordClass, ttl] = action === 'add' ? [classes.IN, 60] : [classes.NONE, 0];
  const record = [wireName(name), numbers(types.TXT, recordClass), numbers(0, ttl), numbers(data.length), data];
  return Buffer.concat([header(id, updateFlags, [1, 0, 1, 0]), wireName(zone), numbers(types.SOA, classes.IN), ...record]);
}

/** Signs a message. `at`: the time in seconds since 1970. */
export function sign(message: Buffer, key: TsigKey, at: number): Signed {
  const mac = macOf(key, [message, variables(key, { time: time48(at), error: 0, other: Buffer.alloc(0) })]);
  const id = message.readUInt16BE(0);
  const data = Buffer.concat([wireName(key.algorithm), time48(at), numbers(fudgeSeconds, mac.length), mac, numbers(id, 0, 0)]);
  const record = [wireName(key.name), numbers(types.TSIG, classes.ANY, 0, 0, data.length), data];
  const signed = Buffer.concat([message, ...record]);
  signed.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { message: signed, mac };
}

/** The parts of an answer that matter here. */
export interface DnsReply {
  /** The name of the response code, such as `REFUSED`; empty if the request succeeded. */
  readonly error: string;
  /** Owner of the first SOA record in the answer; null if there is none. */
  readonly zone: string | null;
}

/**
 * Parses an answer. `asked`: the request, whose id and signature the answer must match; an unsigned answer to a signed
 * request counts only as a failure. Throws if it does not match or is malformed.
 */
export function parseReply(answer: Buffer, asked: Signed, key: TsigKey | null): DnsReply {
  if (answer.readUInt16BE(0) !== asked.message.readUInt16BE(0)) throw new Error('its answer belongs to another request');
  const code = answer.readUInt16BE(2) & 0xf;
  const { zone, signature } = parseRecords(answer);
  const error = code === 0 ? '' : (responseCodes[code] ?? `error ${code}`);
  const reason = signature === null ? undefined : signatureErrors[signature.error];
  // An answer about a name that does not exist names its zone too.
  if (error !== '' && error !== 'NXDOMAIN') return { error: reason === undefined ? error : `${error} (${reason})`, zone: null };
  if (key !== null && asked.mac !== null && !isSignedBy(answer, signature, asked.mac, key)) {
    throw new Error('its answer is not signed with the key');
  }
  return { error, zone };
}

interface Signature {
  readonly start: number;
  readonly time: Buffer;
  readonly mac: Buffer;
  readonly originalId: number;
  readonly error: number;
  readonly other: Buffer;
}

function isSignedBy(answer: Buffer, signature: Signature | null, requestMac: Buffer, key: TsigKey): boolean {
  if (signature === null) return false;
  const { start, time, mac, originalId, error, other } = signature;
  const plain = Buffer.from(answer.subarray(0, start));
  plain.writeUInt16BE(originalId, 0);
  plain.writeUInt16BE(plain.readUInt16BE(10) - 1, 10);
  const expected = macOf(key, [numbers(requestMac.length), requestMac, plain, variables(key, { time, error, other })]);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

function parseRecords(message: Buffer): { readonly zone: string | null; readonly signature: Signature | null } {
  let at = headerBytes;
  for (let questions = message.readUInt16BE(4); questions > 0; questions -= 1) at = readName(message, at).end + 4;
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  let zone: string | null = null;
  let signature: Signature | null = null;
  for (let index = 0; index < records; index += 1) {
    const start = at;
    const { name, end } = readName(message, at);
    const type = message.readUInt16BE(end);
    const data = end + 10;
    at = data + message.readUInt16BE(end + 8);
    if (type === types.SOA) zone ??= name;
    if (type === types.TSIG) signature = parseSignature(message, start, data);
  }
  return { zone, signature };
}

function parseSignature(message: Buffer, start: number, data: number): Signature {
  const { end } = readName(message, data);
  const macEnd = end + 10 + message.readUInt16BE(end + 8);
  const otherStart = macEnd + 6;
  return {
    start,
    time: message.subarray(end, end + 6),
    mac: message.subarray(end + 10, macEnd),
    originalId: message.readUInt16BE(macEnd),
    error: message.readUInt16BE(macEnd + 2),
    other: message.subarray(otherStart, otherStart + message.readUInt16BE(macEnd + 4)),
  };
}

function macOf(key: TsigKey, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(key.algorithm.replace('hmac-', ''), Buffer.from(key.secret.reveal(), 'base64'));
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Returns the fields of a signature that are signed too (RFC 8945, 4.3.3). */
function variables(
  key: TsigKey,
  { time, error, other }: { readonly time: Buffer; readonly error: number; readonly other: Buffer },
): Buffer {
  const owner = [wireName(key.name), numbers(classes.ANY, 0, 0), wireName(key.algorithm)];
  return Buffer.concat([...owner, time, numbers(fudgeSeconds, error, other.length), other]);
}

function header(id: number, flags: number, counts: readonly number[]): Buffer {
  return numbers(id, flags, ...counts);
}

function numbers(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => buffer.writeUInt16BE(value, index * 2));
  return buffer;
}

function time48(seconds: number): Buffer {
  const buffer = Buffer.alloc(6);
  buffer.writeUIntBE(seconds, 0, 6);
  return buffer;
}

function wireName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])), Buffer.alloc(1)]);
}

function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  let end: number | null = null;
  for (let steps = 0; steps < 128; steps += 1) {
    const length = message.readUInt8(at);
    if (length >= 0xc0) {
      end ??= at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
    } else if (length === 0) {
      return { name: labels.join('.').toLowerCase(), end: end ?? at + 1 };
    } else {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
  }
  throw new Error('its answer has a name without an end');
}

import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { messageOf } from '@davit/base';
import type { DnsUpdateConfiguration } from '../configuration.ts';
import { parseReply, sign, txtUpdate, zoneQuestion, type DnsReply, type Signed, type TxtRecord } from './message.ts';

const timeoutMilliseconds = 15_000;

/**
 * Adds or removes a TXT record by a dynamic update (RFC 2136), signed if there is a key. Repeating it changes nothing.
 * Fails with an error that names the server and its response.
 */
export async function updateTxt(
  settings: DnsUpdateConfiguration,
  action: 'add' | 'remove',
  record: TxtRecord,
  signal: AbortSignal,
): Promise<void> {
  const zone = settings.zone ?? (await zoneOf(settings, record.name, signal));
  const { error } = await exchange(settings, txtUpdate(newId(), zone, action, record), signal);
  if (error !== '') throw new Error(`${nameOf(settings)} refused to update the zone ${zone}: ${error}`);
}

async function zoneOf(settings: DnsUpdateConfiguration, name: string, signal: AbortSignal): Promise<string> {
  const reply = await exchange(settings, zoneQuestion(newId(), name), signal);
  // The server names the zone even if the name does not exist.
  const zone = reply.zone;
  if (zone !== null && (name === zone || name.endsWith(`.${zone}`))) return zone;
  const reason = reply.error === '' ? 'it has none' : reply.error;
  throw new Error(`${nameOf(settings)} does not name the zone of ${name}: ${reason}. Set DAVIT_DNS_UPDATE_ZONE`);
}

function newId(): number {
  return randomInt(0, 65_536);
}

function nameOf({ server: { host, port } }: DnsUpdateConfiguration): string {
  return `the DNS server ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function exchange(settings: DnsUpdateConfiguration, message: Buffer, signal: AbortSignal): Promise<DnsReply> {
  const { key } = settings;
  const asked: Signed = key === null ? { message, mac: null } : sign(message, key, Math.floor(Date.now() / 1000));
  try {
    return parseReply(await send(settings, asked.message, signal), asked, key);
  } catch (error) {
    throw new Error(`${nameOf(settings)} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Sends a message over TCP, where each message is preceded by its length (RFC 1035, 4.2.2), and returns the answer. */
function send({ server }: DnsUpdateConfiguration, message: Buffer, signal: AbortSignal): Promise<Buffer> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]);
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = connect({ ...server, signal: over });
    socket.on('connect', () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      resolve(received.subarray(2, 2 + received.readUInt16BE(0)));
      socket.destroy();
    });
    socket.on('error', (error) => reject(over.aborted && !signal.aborted ? new Error('it did not answer in 15 seconds') : error));
    socket.on('close', () => reject(new Error('it closed the connection')));
  });
}

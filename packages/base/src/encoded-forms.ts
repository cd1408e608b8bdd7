/**
 * Returns a value in its original form and in the forms that programs print: base64 with and without padding,
 * base64url, URL-encoded, JSON-escaped, hexadecimal.
 */
export function encodedForms(value: string): string[] {
  const bytes = new TextEncoder().encode(value);
  const base64 = toBase64(bytes);
  const bare = base64.replace(/=+$/, '');
  // A lone surrogate cannot be URL-encoded; such a value has no encoded form that could leak.
  const url = encodeURIComponent(value.toWellFormed());
  return [
    value,
    base64,
    bare,
    bare.replaceAll('+', '-').replaceAll('/', '_'),
    url,
    url.replaceAll('%20', '+'),
    JSON.stringify(value).slice(1, -1),
    toHex(bytes),
  ];
}

/**
 * Bytes per call, because the number of arguments is limited. The number is a multiple of three, so that base64 adds no
 * padding in between.
 */
const chunkBytes = 3 * 2048;

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes) text += btoa(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)));
  return text;
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function toHex(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 1) text += hexadecimal[bytes[at] ?? 0] ?? '';
  return text;
}

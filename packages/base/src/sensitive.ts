const shown = '[REDACTED]';

/** A value that does not print itself: not in templates, JSON, or logs. `reveal()` is the only way to it. */
export class Sensitive {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return shown;
  }
}

export type Redactor = (text: string) => string;

/**
 * Replaces every occurrence of the given values by `[REDACTED]`, as they are and as base64, base64url, URL-encoded,
 * JSON-escaped and hexadecimal text. Values of fewer than 4 characters are left out: replacing every `1` of a log would
 * destroy it and hide nothing. Each line of a value with several lines (a private key) counts by itself as well, as logs are
 * redacted line by line.
 */
export function redactor(values: Iterable<string>): Redactor {
  const forms = new Set<string>();
  for (const value of values) {
    const lines = value.split(/\r?\n/).map((line) => line.trim());
    for (const part of new Set([value, ...(lines.length > 1 ? lines.filter((line) => line.length >= 8) : [])])) {
      if (part.length < 4) continue;
      for (const form of encodedForms(part)) if (form.length >= 4) forms.add(form);
    }
  }
  if (forms.size === 0) return (text) => text;
  // Longest first: a value that contains another one must go as a whole.
  const ordered = [...forms].sort((a, b) => b.length - a.length).map(escapeForPattern);
  const pattern = new RegExp(ordered.join('|'), 'g');
  return (text) => text.replace(pattern, shown);
}

function encodedForms(value: string): string[] {
  const bytes = new TextEncoder().encode(value);
  const base64 = btoa(String.fromCharCode(...bytes));
  const url = encodeURIComponentSafely(value);
  return [
    value,
    base64,
    base64.replace(/=+$/, ''),
    base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
    url,
    url.replaceAll('%20', '+'),
    JSON.stringify(value).slice(1, -1),
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''),
  ];
}

// Half of a surrogate pair cannot be URL-encoded; such a value has no encoded form that could leak.
function encodeURIComponentSafely(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

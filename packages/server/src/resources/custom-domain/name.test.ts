import { describe, expect, test } from 'vitest';
import { toDomainName } from './name.ts';

const name = (text: string) => toDomainName(text, ['apps.example.net', 'rack.example.net'], 'davit.example.com');

describe('a domain', () => {
  test.each([
    ['shop.example.org', 'shop.example.org', 'shop.example.org'],
    ['Shop.Example.ORG', 'shop.example.org', 'shop.example.org'],
    ['*.example.org', '*.example.org', '*.example.org'],
    ['bücher.example', 'bücher.example', 'xn--bcher-kva.example'],
    ['BU\u0308CHER.example', 'bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['例え.テスト', '例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['a-b.1.example.org', 'a-b.1.example.org', 'a-b.1.example.org'],
    ['example.net', 'example.net', 'example.net'],
    ['myapps.example.net', 'myapps.example.net', 'myapps.example.net'],
    [`${'a'.repeat(63)}.example.org`, `${'a'.repeat(63)}.example.org`, `${'a'.repeat(63)}.example.org`],
  ])('%s is kept as it is written and as DNS has it', (text, domain, host) => {
    expect(name(text)).toEqual({ domain, host });
  });

  test.each([
    ['https://shop.example.org', 'domain only'],
    ['shop.example.org:8080', 'domain only'],
    ['shop.example.org/x', 'domain only'],
    [' shop.example.org', 'domain only'],
    ['me@example.org', 'domain only'],
    ['a%2e.example.org', 'domain only'],
    ['Davit.example.com', 'this Davit itself'],
    ['localhost', 'two labels'],
    ['*', '*'],
    ['*.org', 'two labels'],
    ['*.*.example.org', 'first label only'],
    ['a.*.example.org', 'first label only'],
    ['w*.example.org', 'first label only'],
    ['10.0.0.1', 'not an address'],
    ['*.10.0.0.1', 'not an address'],
    ['1.2', 'end in a number'],
    ['example.org.', 'empty label'],
    ['.example.org', 'empty label'],
    ['a..org', 'empty label'],
    ['-a.example.org', '1 to 63 letters'],
    ['a_b.example.org', '1 to 63 letters'],
    ['a;b.example.org', '1 to 63 letters'],
    ["a'b.example.org", '1 to 63 letters'],
    [`${'a'.repeat(64)}.example.org`, '1 to 63 letters'],
    [`${'a.'.repeat(130)}org`, 'at most 253'],
    ['apps.example.net', 'addresses automatically'],
    ['shop.apps.example.net', 'addresses automatically'],
    ['shop.rack.example.net', 'must not be in rack.example.net'],
    ['*.APPS.example.net', 'addresses automatically'],
  ])('%j is refused', (text, fault) => {
    expect(name(text)).toEqual({ fault: expect.stringContaining(fault) });
  });
});

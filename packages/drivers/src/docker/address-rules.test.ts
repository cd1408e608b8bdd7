import { assert, integer, property, uuid } from 'fast-check';
import { expect, test } from 'vitest';
import { addressesIn, halvesOf, macOf, rulesFor } from './address-rules.ts';

test('the rules translate to one address, to several in turn, or to none', () => {
  expect(rulesFor(['10.0.0.2'])).toContain('add rule ip davit in fib daddr type local dnat to 10.0.0.2\n');
  expect(rulesFor(['10.0.0.3', '10.0.0.2', '10.0.0.3'])).toContain('dnat to numgen inc mod 2 map { 0 : 10.0.0.2, 1 : 10.0.0.3 }');
  expect(rulesFor([])).not.toContain('dnat');
  for (const addresses of [[], ['10.0.0.2']]) expect(rulesFor(addresses)).toContain('flush table ip davit\n');
});

test('the rules do not depend on the order of the instances', () => {
  expect(rulesFor(['10.0.0.2', '10.0.0.3'])).toBe(rulesFor(['10.0.0.3', '10.0.0.2']));
});

test('a subnet is halved: instances have the lower addresses, services the upper ones', () => {
  expect(halvesOf('10.1.2.0/24')).toEqual({ instances: '10.1.2.0/25', services: '10.1.2.128/25' });
  expect(halvesOf('172.16.0.0/16')).toEqual({ instances: '172.16.0.0/17', services: '172.16.128.0/17' });
});

test('a service gets the same addresses each time, all different, in its range, and none that is used or broadcast', () => {
  assert(
    property(uuid(), integer({ min: 1, max: 130 }), (service, count) => {
      const all = addressesIn('10.1.2.128/25', service, new Set(), count);
      expect(addressesIn('10.1.2.128/25', service, new Set(), count)).toEqual(all);
      expect(all).toHaveLength(Math.min(count, 127));
      expect(new Set(all).size).toBe(all.length);
      for (const address of all) {
        const last = Number(/^10\.1\.2\.(\d+)$/.exec(address)?.[1]);
        expect(last >= 128 && last < 255).toBe(true);
      }
      const others = addressesIn('10.1.2.128/25', service, new Set(all.slice(0, 1)), count);
      expect(others).not.toContain(all[0]);
    }),
  );
});

test('the MAC address is local and contains the address', () => {
  expect(macOf('10.1.2.200')).toBe('02:42:0a:01:02:c8');
});

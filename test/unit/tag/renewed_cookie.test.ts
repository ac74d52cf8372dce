import { expect, test, vi } from 'vitest';

const DAY_MS = 86_400_000;

/** Cookies of a browser that takes none for a public suffix, by when they end. */
function browserAt(hostname: string, clock: { nowMs: number }) {
  const cookies = new Map<string, { value: string; untilMs: number }>();
  const taken = (domain: string): boolean => !['uk', 'co.uk', 'example'].includes(domain);
  vi.stubGlobal('location', { hostname, protocol: 'https:' });
  vi.stubGlobal('document', {
    get cookie() {
      return [...cookies]
        .flatMap(([name, { value, untilMs }]) => (untilMs > clock.nowMs ? `${name}=${value}` : []))
        .join('; ');
    },
    set cookie(text: string) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      const domain = /;domain=([^;]+)/.exec(text)?.[1];
      const seconds = Number(/;max-age=(\d+)/.exec(text)?.[1]);
      if (domain === undefined || taken(domain)) cookies.set(name, { value, untilMs: clock.nowMs + seconds * 1_000 });
    },
  });
  return { daysLeft: () => Math.round(((cookies.get('svc_did')?.untilMs ?? 0) - clock.nowMs) / DAY_MS) };
}

test.each(['www.shop.co.uk', 'www.shop.example'])(
  "the visitor's cookie is renewed on each page of %s",
  async (hostname) => {
    const clock = { nowMs: Date.UTC(2027, 0, 1) };
    const browser = browserAt(hostname, clock);
    const ids = new Set<string>();
    for (const days of [0, 10, 300, 390]) {
      vi.resetModules();
      const { visitorId } = await import('../../../services/tag/src/visitor.ts');
      clock.nowMs += days * DAY_MS;
      ids.add(visitorId(clock.nowMs));
      expect(browser.daysLeft()).toBe(395);
    }
    expect(ids.size).toBe(1);
  },
);

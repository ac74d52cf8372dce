import { expect, it } from 'vitest';
import { holdsGroupedCard, redactCards } from '#pipelines/privacy/redact_secrets.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';

it.each(['d4a28004-cdf4-4932-9426-46696c193f18', '64850520-0644-46D2-AFA5-54FC50381522'])(
  'the UUID %s has the digits of a card and stays',
  (uuid) => {
    expect(redactCards(uuid)).toBe(uuid);
    expect(holdsGroupedCard(uuid)).toBe(false);
    // Beside anything else its digits are read as people read them.
    expect(redactCards(`card ${uuid}`)).toContain('redacted');
  },
);

it('a UUID with the digits of a phone number stays, and what only looks like a UUID does not', () => {
  const uuid = '050d7c6f-0709-4574-9060-c85477ab56c8';
  expect(redactText(uuid, false, ['BE'])).toBe(uuid);
  expect(redactText('050d7c6f-0709-4574-0060-c85477ab56c8', false, ['BE'])).toContain('redacted');
});

it.each(['fb.1.1764300000000.1701234567', 'fb.2.1764300000000.49'])("%s, a pixel's cookie, stays", (cookie) => {
  expect(redactText(cookie, false, ['DE', 'US', 'FR'])).toBe(cookie);
});

it.each(['fb.1.1764300000000.+491701234567', 'fb.1.1764300000000.1701234567 0170 1234567'])(
  '%s only looks like one, and is read as any text',
  (text) => {
    expect(redactText(text, false, ['DE'])).toContain('redacted');
  },
);

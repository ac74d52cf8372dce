import { expect, test } from 'vitest';
import { masked } from '#services/tag/src/redact.ts';

test.each([
  ['Write to jane.doe@shop.example now', 'Write to *** now'],
  ['https://shop.example/u/jane%40shop.example/orders', 'https://shop.example/u/***/orders'],
  ['Call +43 (660) 123-45 67', 'Call ***'],
  ['Order 123456789', 'Order ***'],
  ['4111 1111 1111 1111', '***'],
  ['Only 12345678 left', 'Only 12345678 left'],
  ['/reset/eyJhbGciOiJIUzI1NiIsInR5', '/reset/***'],
  ['/u/0193a1b2-0000-7000-8000-0123456789ab/x', '/u/***/x'],
  ['/summer-sale-2026-shoes-and-more', '/summer-sale-2026-shoes-and-more'],
  [`${'word '.repeat(99)}jane@shop.example`, 'word '.repeat(99)],
  ['  two\n words ', 'two words'],
])('%j becomes %j', (text, expected) => expect(masked(text)).toBe(expected));

import { expect, test } from 'vitest';
import { isChosen, isChosenClass } from '#services/tag/src/page_inventory.ts';

test.each(['buy', 'add-to-cart', 'newsletterForm', 'step-2', 'main_nav'])('the id %s was chosen', (id) =>
  expect(isChosen(id)).toBe(true),
);

test.each([':r1:', 'radix-42', 'ember1042', 'headlessui-menu-button-3', 'a1b2c3', 'item-1234', 'x9f2k', '', '2nd'])(
  'the id %j is generated',
  (id) => expect(isChosen(id)).toBe(false),
);

test.each(['price', 'btn-primary', 'product-card'])('the class %s was chosen', (name) =>
  expect(isChosenClass(name)).toBe(true),
);

test.each(['css-1x2y3z', 'sc-bdVaJa', 'Button_root__3kd9f', '_btn_kxqpt', 'jss123', 'svelte-abc', 'kYRfcu', 'md:flex'])(
  'the class %s is generated',
  (name) => expect(isChosenClass(name)).toBe(false),
);

import { resolveBatch } from '../own_script.ts';
import { startInventory } from '../page_inventory.ts';
import { ask } from '../requests.ts';
import type { PartHost } from '../types.ts';

resolveBatch(({ address, onPage }: PartHost) =>
  startInventory({
    onPage,
    // It is nobody's visit: it is sent once, and not again where that comes to nothing.
    submit: (body) =>
      void ask(address('inventory'), { method: 'POST', body: JSON.stringify(body) }).catch(() => undefined),
  }),
);

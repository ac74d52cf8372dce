import { startInventory } from './page_inventory.ts';
import { handOver } from './part_script.ts';

handOver(startInventory);

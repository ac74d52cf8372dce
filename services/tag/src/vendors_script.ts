import { handOver } from './part_script.ts';
import { createVendors } from './vendors.ts';

handOver(createVendors);

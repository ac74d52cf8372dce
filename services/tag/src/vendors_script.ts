import { handOver } from './part_script.ts';
import type { PartHost } from './types.ts';
import { createVendors } from './vendors.ts';

handOver((host: PartHost) => createVendors(host.config, host));

import { handOver } from './part_script.ts';
import { renewVisitor } from './renew_visitor.ts';
import type { PartHost } from './types.ts';
import { createVendors } from './vendors.ts';

handOver((host: PartHost) => {
  renewVisitor(host);
  return createVendors(host.config, host);
});

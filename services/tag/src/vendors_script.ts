import { makeMetaIds } from './meta_ids.ts';
import { handOver } from './part_script.ts';
import { renewVisitor } from './renew_visitor.ts';
import type { PartHost } from './types.ts';
import { createVendors } from './vendors.ts';

handOver((host: PartHost) => {
  renewVisitor(host);
  if (host.config.facebook) host.makeAdIds = makeMetaIds;
  return createVendors(host.config, host);
});

import { startDefinitions } from './fire_definitions.ts';
import { handOver } from './own_script.ts';
import type { PartHost } from './types.ts';

handOver((host: PartHost) => startDefinitions(host.config.events, host));

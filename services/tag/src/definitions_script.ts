import { startDefinitions } from './fire_definitions.ts';
import { handOver } from './part_script.ts';

handOver(startDefinitions);

import { impersonal } from './impersonal.ts';
import { handOver } from './part_script.ts';

handOver(() => impersonal);

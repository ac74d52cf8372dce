import { startShowing } from './engage/show_items.ts';
import { handOver } from './part_script.ts';

handOver(startShowing);

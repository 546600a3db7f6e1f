import type { Duty, DutyPost } from "./duty.ts";
import { QueueDuty, type QueueDutyOptions } from "./queue-duty.ts";
import { ServingDuty, type ServingDutyOptions } from "./serving/serving-duty.ts";

export type DutyOptions = QueueDutyOptions & ServingDutyOptions;

/** What a worker is there for, by the type of its endpoint. */
export function dutyOf(post: DutyPost, options: DutyOptions): Duty {
  return post.outline.type === "LB" ? new ServingDuty(post, options) : new QueueDuty(post, options);
}

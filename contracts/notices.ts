/** Something that happened beside the runs of a conversation, for the next of them to know. */
export interface Notice {
  /** Names it within the conversation: posted again while it waits, it is there once. */
  readonly id: string
  /**
   * One sentence for the model, which reads it as the daemon's own word: text of others (output, pages, files) does not
   * belong in it. Control characters and angle brackets become spaces; what is beyond 600 characters is cut.
   */
  readonly text: string
}

/** Notices of conversations. Each is offered to one run, in all its turns, and is gone with that run. */
export interface Notices {
  /** Queues one; of more than 20 that wait the oldest goes. Resolves when it is stored as durably as conversations are. */
  post(tenantId: string, conversationId: string, notice: Notice): Promise<void>
}

/** What a skill tells the model. */
export interface SkillText {
  /** Its body, arguments and places filled in. */
  readonly text: string
  /** Tools a run of the skill is held to; absent: no limit of its own. */
  readonly allowedTools?: readonly string[]
}

export interface SkillUse {
  /** As the caller wrote them, on one line. */
  readonly args?: string
  /** Root of the workspace the skill is used in. */
  readonly workspaceRoot?: string
}

/** The skills of a deployment, as those see them who put one into a prompt. */
export interface Skills {
  /** Undefined: the tenant has no skill of that name. Rejects when it cannot be read. */
  text(tenantId: string, name: string, use: SkillUse): Promise<SkillText | undefined>
}

"""Which skills of a project help, hurt or lie idle on a target: who is measured, their pairs, and what they show."""

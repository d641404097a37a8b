"""What a rollout holds."""

from skillopt.rollouts import Message, ToolCall, Trajectory


def test_folders_are_renamed_wherever_a_trajectory_names_them() -> None:
    made = Trajectory(
        (
            Message("user", "Tidy the table."),
            Message(
                "assistant",
                "I look into /scratch/w1.",
                (ToolCall("shell", "cat /scratch/w1/a.csv", "/scratch/w1/a.csv: 2"),),
            ),
        ),
        answer="See /scratch/w1/out.csv and /scratch/h1/log.",
        files_changed=("out.csv",),
        reason="/scratch/w1 was left",
    )
    assert made.renaming({"/scratch/w1": "/workspace", "/scratch/h1": "/home/agent"}) == Trajectory(
        (
            Message("user", "Tidy the table."),
            Message(
                "assistant",
                "I look into /workspace.",
                (ToolCall("shell", "cat /workspace/a.csv", "/workspace/a.csv: 2"),),
            ),
        ),
        answer="See /workspace/out.csv and /home/agent/log.",
        files_changed=("out.csv",),
        reason="/workspace was left",
    )
